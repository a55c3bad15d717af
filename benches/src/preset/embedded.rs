//! The presets that are compiled in, so that they work from any folder.

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each.
        pub const EMBEDDED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../presets/", $name, ".toml")))),*];
    };
}

embedded!(
    "baseline",
    "diskann",
    "starling",
    "diskann++",
    "pipeann",
    "aisaq",
    "lm-diskann",
    "grip",
    "octopusann",
    "spann",
    "c1",
    "c2",
    "c3",
    "c4",
    "c5",
);
