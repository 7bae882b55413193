//! Release builds embed the dashboard: they are made anew when it was built anew. Debug builds read it from disk.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo:rerun-if-changed=../../ui/dist");
    }
}
