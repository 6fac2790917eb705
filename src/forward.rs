//! Forwards the methods of `Router` from a wrapper to the router inside.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::{Change, Error, Refusal, Router};

/// Writes the methods of [`Router`] for a wrapper: a router around a router.
///
/// The first argument is the router inside: a field, such as `self.router`, or `*self` for a
/// pointer. Without further arguments the macro forwards every method. Otherwise a semicolon and a
/// list of methods follow, **all nine and in this order**, so that a forgotten method does not
/// compile. Each is one of:
///
/// - `inner`: forwards to the router inside;
/// - `default`: the trait's own, which follows from the wrapper's other methods;
/// - `Self::name`: a function that takes `&self` (`&mut self` for `apply`) and the arguments of
///   the method.
///
/// `hash_key`, `nodes` and `hash_id` are always forwarded.
///
/// A wrapper that gives keys other owners than the router inside needs its own `route_hash` and its
/// own `walk`, which starts with that owner. Its `route_batch`, `replicas_into`, `ranges` and
/// `explain` are then its own or `default`. `loads` is `default` if the router inside must not
/// count, as in [`BoundedLoad`](crate::BoundedLoad); otherwise it is `inner` or the wrapper's own.
///
/// ```
/// use core::sync::atomic::{AtomicU64, Ordering};
/// use hashroute::{KeyHash, NodeId, Ring, Router, forward_router};
///
/// /// A router that counts the keys it routes.
/// #[derive(Debug)]
/// struct Counted<R> { router: R, keys: AtomicU64 }
///
/// impl<R: Router> Counted<R> {
///     fn count(&self, key: KeyHash) -> Option<NodeId> {
///         self.keys.fetch_add(1, Ordering::Relaxed);
///         self.router.route_hash(key)
///     }
/// }
///
/// impl<R: Router> Router for Counted<R> {
///     forward_router! { self.router;
///         route_hash: Self::count,
///         route_batch: default,
///         walk: inner,
///         replicas_into: inner,
///         apply: inner,
///         ranges: inner,
///         loads: inner,
///         explain: inner,
///         heap_bytes: inner,
///     }
/// }
///
/// let counted = Counted { router: Ring::new(["a"])?, keys: AtomicU64::new(0) };
/// assert!(counted.route(b"user:42").is_some());
/// assert_eq!(counted.keys.into_inner(), 1);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[macro_export]
macro_rules! forward_router {
    // The entry points. Each method has its own rules below.
    (self . $field:tt) => {
        $crate::forward_router! { @all [field $field] }
    };
    (* self) => {
        $crate::forward_router! { @all [deref] }
    };
    (self . $field:tt; $($methods:tt)*) => {
        $crate::forward_router! { @each [field $field] $($methods)* }
    };
    (* self; $($methods:tt)*) => {
        $crate::forward_router! { @each [deref] $($methods)* }
    };
    (@all $at:tt) => {
        $crate::forward_router! { @each $at
            route_hash: inner,
            route_batch: inner,
            walk: inner,
            replicas_into: inner,
            apply: inner,
            ranges: inner,
            loads: inner,
            explain: inner,
            heap_bytes: inner,
        }
    };
    (@each $at:tt
        route_hash: $route_hash:tt $(:: $route_hash_own:ident)?,
        route_batch: $route_batch:tt $(:: $route_batch_own:ident)?,
        walk: $walk:tt $(:: $walk_own:ident)?,
        replicas_into: $replicas_into:tt $(:: $replicas_into_own:ident)?,
        apply: $apply:tt $(:: $apply_own:ident)?,
        ranges: $ranges:tt $(:: $ranges_own:ident)?,
        loads: $loads:tt $(:: $loads_own:ident)?,
        explain: $explain:tt $(:: $explain_own:ident)?,
        heap_bytes: $heap_bytes:tt $(:: $heap_bytes_own:ident)?,
    ) => {
        #[inline]
        fn nodes(&self) -> &$crate::Nodes {
            $crate::forward_router!(@in self $at).nodes()
        }

        #[inline]
        fn hash_id(&self) -> $crate::HashId {
            $crate::forward_router!(@in self $at).hash_id()
        }

        #[inline]
        fn hash_key(&self, key: &[u8]) -> ::core::option::Option<$crate::KeyHash> {
            $crate::forward_router!(@in self $at).hash_key(key)
        }

        $crate::forward_router! { @route_hash $at $route_hash $(:: $route_hash_own)? }
        $crate::forward_router! { @route_batch $at $route_batch $(:: $route_batch_own)? }
        $crate::forward_router! { @walk $at $walk $(:: $walk_own)? }
        $crate::forward_router! { @replicas_into $at $replicas_into $(:: $replicas_into_own)? }
        $crate::forward_router! { @apply $at $apply $(:: $apply_own)? }
        $crate::forward_router! { @ranges $at $ranges $(:: $ranges_own)? }
        $crate::forward_router! { @loads $at $loads $(:: $loads_own)? }
        $crate::forward_router! { @explain $at $explain $(:: $explain_own)? }
        $crate::forward_router! { @heap_bytes $at $heap_bytes $(:: $heap_bytes_own)? }
    };

    // The router inside.
    (@in $this:ident [field $field:tt]) => { $this.$field };
    (@in $this:ident [deref]) => { (**$this) };

    (@$method:ident $at:tt default) => {};
    (@route_hash $at:tt inner) => {
        #[inline]
        fn route_hash(&self, key: $crate::KeyHash) -> ::core::option::Option<$crate::NodeId> {
            $crate::forward_router!(@in self $at).route_hash(key)
        }

        // Same answer as the trait's own, with one call through a `Box<dyn Router>` and not three.
        #[inline]
        fn route(&self, key: &[u8]) -> ::core::option::Option<&$crate::Node> {
            $crate::forward_router!(@in self $at).route(key)
        }
    };
    (@route_hash $at:tt $own:path) => {
        #[inline]
        fn route_hash(&self, key: $crate::KeyHash) -> ::core::option::Option<$crate::NodeId> {
            $own(self, key)
        }
    };
    (@route_batch $at:tt inner) => {
        #[inline]
        fn route_batch(&self, keys: &[$crate::KeyHash], out: &mut [::core::option::Option<$crate::NodeId>]) {
            $crate::forward_router!(@in self $at).route_batch(keys, out);
        }
    };
    (@route_batch $at:tt $own:path) => {
        #[inline]
        fn route_batch(&self, keys: &[$crate::KeyHash], out: &mut [::core::option::Option<$crate::NodeId>]) {
            $own(self, keys, out);
        }
    };
    (@walk $at:tt inner) => {
        #[inline]
        fn walk(&self, key: $crate::KeyHash, visit: &mut dyn FnMut($crate::NodeId) -> ::core::ops::ControlFlow<()>) {
            $crate::forward_router!(@in self $at).walk(key, visit);
        }
    };
    (@walk $at:tt $own:path) => {
        #[inline]
        fn walk(&self, key: $crate::KeyHash, visit: &mut dyn FnMut($crate::NodeId) -> ::core::ops::ControlFlow<()>) {
            $own(self, key, visit);
        }
    };
    (@replicas_into $at:tt inner) => {
        #[inline]
        fn replicas_into(&self, key: $crate::KeyHash, n: usize, spread: $crate::Spread, out: &mut $crate::NodeList) {
            $crate::forward_router!(@in self $at).replicas_into(key, n, spread, out);
        }
    };
    (@replicas_into $at:tt $own:path) => {
        #[inline]
        fn replicas_into(&self, key: $crate::KeyHash, n: usize, spread: $crate::Spread, out: &mut $crate::NodeList) {
            $own(self, key, n, spread, out);
        }
    };
    (@apply $at:tt inner) => {
        fn apply(&mut self, change: &$crate::Change) -> ::core::result::Result<(), $crate::Error> {
            $crate::forward_router!(@in self $at).apply(change)
        }
    };
    (@apply $at:tt $own:path) => {
        fn apply(&mut self, change: &$crate::Change) -> ::core::result::Result<(), $crate::Error> {
            $own(self, change)
        }
    };
    (@ranges $at:tt inner) => {
        fn ranges(&self) -> ::core::option::Option<$crate::HashRanges> {
            $crate::forward_router!(@in self $at).ranges()
        }
    };
    (@ranges $at:tt $own:path) => {
        fn ranges(&self) -> ::core::option::Option<$crate::HashRanges> {
            $own(self)
        }
    };
    (@loads $at:tt inner) => {
        fn loads(&self) -> ::core::option::Option<&dyn $crate::Loads> {
            $crate::forward_router!(@in self $at).loads()
        }
    };
    (@loads $at:tt $own:path) => {
        fn loads(&self) -> ::core::option::Option<&dyn $crate::Loads> {
            $own(self)
        }
    };
    (@explain $at:tt inner) => {
        fn explain(&self, key: $crate::KeyHash) -> $crate::Explanation {
            $crate::forward_router!(@in self $at).explain(key)
        }
    };
    (@explain $at:tt $own:path) => {
        fn explain(&self, key: $crate::KeyHash) -> $crate::Explanation {
            $own(self, key)
        }
    };
    (@heap_bytes $at:tt inner) => {
        fn heap_bytes(&self) -> usize {
            $crate::forward_router!(@in self $at).heap_bytes()
        }
    };
    (@heap_bytes $at:tt $own:path) => {
        fn heap_bytes(&self) -> usize {
            $own(self)
        }
    };
}

/// A router that was chosen at run time.
impl<R: Router + ?Sized> Router for Box<R> {
    forward_router! { *self }
}

/// A shared handle, which routes like the router and refuses every change.
impl<R: Router + ?Sized> Router for &R {
    forward_router! { *self;
        route_hash: inner,
        route_batch: inner,
        walk: inner,
        replicas_into: inner,
        apply: Self::refuse,
        ranges: inner,
        loads: inner,
        explain: inner,
        heap_bytes: inner,
    }
}

/// A shared handle, which routes like the router and refuses every change.
impl<R: Router + ?Sized> Router for Arc<R> {
    forward_router! { *self;
        route_hash: inner,
        route_batch: inner,
        walk: inner,
        replicas_into: inner,
        apply: Self::refuse,
        ranges: inner,
        loads: inner,
        explain: inner,
        heap_bytes: inner,
    }
}

/// Refuses changes through a shared handle: the other holders would see the change as well.
trait Refuse {
    fn refuse(&mut self, _: &Change) -> Result<(), Error> {
        Err(Error::Unsupported {
            what: Refusal::SharedRouter,
            advice: "change a clone and share that, or hold the router in `shared::Shared`",
        })
    }
}

impl<R: ?Sized> Refuse for &R {}
impl<R: ?Sized> Refuse for Arc<R> {}
