//! The hash ring.

mod circle;
mod density;
mod draw;
mod keys;
mod panel;
mod scene;
mod stage;
mod tokens;

pub use draw::ring;
pub use scene::RingScene;
