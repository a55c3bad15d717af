//! The shadow page store on a simulated disk: what every table names stays as it was, through crashes, failures and a
//! full disk.

mod adopting;
mod crashes;
mod damage;
mod failures;
mod model;
mod readers;
mod scripts;
mod space;
