//! Of the options, those that a buffer knows.

use crate::params::LinkParams;

pub struct LiveOptions {
    pub link: LinkParams,
    pub buffer_vectors: usize,
}
