//! Recall, in the three definitions of the field.
