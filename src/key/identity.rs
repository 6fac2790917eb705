//! The identity of the hash function of a router, as a value that can be compared.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

use super::{KeyHash, KeyHasher};

/// The identity of the hash function of a router. Two routers with equal identities give every key
/// the same hash.
///
/// Equality is partial, like that of NaN: [`PerKey`](Self::PerKey) does not even equal itself.
///
/// ```
/// use hashroute::{HashId, KeyHasher, Maglev, Ring, Router};
///
/// let (ring, maglev) = (Ring::new(["a"])?, Maglev::new(["a"])?);
/// assert_eq!(ring.hash_id(), maglev.hash_id());
/// let keyed = ring.with_hasher(KeyHasher::sip13(*b"only peers know!"));
/// assert_ne!(keyed.hash_id(), maglev.hash_id());
/// assert_ne!(HashId::PerKey, HashId::PerKey);
/// # Ok::<(), hashroute::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HashId {
    /// [`KeyHasher::spread`]: the hash fills all 64 bits.
    Spread(KeyHasher),
    /// [`KeyHasher::raw`]: the hash is as narrow as the function.
    Raw(KeyHasher),
    /// The function of a real system. Its hashes fill the bits of the router's
    /// [ranges](crate::Router::ranges).
    System(SystemHash),
    /// A function that uses more than the key, or an unknown function. It equals no other.
    PerKey,
}

impl HashId {
    /// Returns the hasher; `None` for the function of a system.
    ///
    /// ```
    /// use hashroute::{HashId, KeyHasher};
    /// let hasher = KeyHasher::default();
    /// assert_eq!(HashId::Raw(hasher.clone()).hasher(), Some(&hasher));
    /// assert_eq!(HashId::PerKey.hasher(), None);
    /// ```
    pub fn hasher(&self) -> Option<&KeyHasher> {
        match self {
            Self::Spread(hasher) | Self::Raw(hasher) => Some(hasher),
            Self::System(_) | Self::PerKey => None,
        }
    }

    /// Hashes a key with the hasher; `None` for the function of a system.
    ///
    /// ```
    /// use hashroute::{HashId, KeyHasher};
    /// let hash = HashId::Raw(KeyHasher::REDIS).hash(b"{user1000}.following");
    /// assert_eq!(hash.map(|hash| hash.get() % 16384), Some(3443));
    /// ```
    pub fn hash(&self, key: &[u8]) -> Option<KeyHash> {
        match self {
            Self::Spread(hasher) => Some(hasher.spread(key)),
            Self::Raw(hasher) => Some(hasher.raw(key)),
            Self::System(_) | Self::PerKey => None,
        }
    }
}

impl PartialEq for HashId {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Spread(a), Self::Spread(b)) | (Self::Raw(a), Self::Raw(b)) => a == b,
            // A function that fills 64 bits is not mixed, so both variants give the same hash.
            (Self::Spread(a), Self::Raw(b)) | (Self::Raw(a), Self::Spread(b)) => {
                a == b && a.function().is_spread()
            }
            (Self::System(a), Self::System(b)) => a == b,
            _ => false,
        }
    }
}

/// The hash function of a real system, as its name and the options that determine it.
///
/// Two are equal if their names and the types and values of their options are equal.
///
/// ```
/// use hashroute::SystemHash;
///
/// #[derive(Debug, PartialEq)]
/// enum Function { Sdbm, Djb2 }
///
/// let hash = |function| SystemHash::new("haproxy", function);
/// assert_eq!(hash(Function::Sdbm), hash(Function::Sdbm));
/// assert_ne!(hash(Function::Sdbm), hash(Function::Djb2));
/// assert_ne!(hash(Function::Sdbm), SystemHash::new("nginx", Function::Sdbm));
/// ```
#[derive(Clone)]
pub struct SystemHash {
    name: &'static str,
    options: Arc<dyn Options>,
}

impl SystemHash {
    /// Makes the identity from the name of the system and all options that determine the hash of a
    /// key; `()` without options.
    pub fn new<T>(name: &'static str, options: T) -> Self
    where
        T: PartialEq + fmt::Debug + Send + Sync + 'static,
    {
        let options = Arc::new(options);
        Self { name, options }
    }
}

impl PartialEq for SystemHash {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.options.equals(&*other.options)
    }
}

impl fmt::Debug for SystemHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.options)
    }
}

/// A value of any type that can be compared with a value of any type.
trait Options: fmt::Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn equals(&self, other: &dyn Options) -> bool;
}

impl<T: PartialEq + fmt::Debug + Send + Sync + 'static> Options for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Options) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }
}
