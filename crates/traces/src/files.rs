//! Files that other tools export.
