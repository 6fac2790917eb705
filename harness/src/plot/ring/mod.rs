//! The hash ring.

mod circle;
mod density;
mod draw;
mod keys;
mod panel;
mod points;
mod scene;
mod stage;
mod strip;

pub use draw::ring;
pub use scene::RingScene;
