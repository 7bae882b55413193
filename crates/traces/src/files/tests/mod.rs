//! Every format by its samples, and what holds for all of them.
