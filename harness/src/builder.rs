//! The `with_*` methods of structs of options, made in one place.

/// Writes a `with_*` method for each field of a struct that may grow and so has no literal outside
/// this crate: `builder! { Policy: with_rise(rise: u8), with_hold(hold: Duration) }`. The argument
/// may be `impl Into<..>` of the field's type. Each method's documentation refers to its field's.
macro_rules! builder {
    ($name:ident $(<$life:lifetime>)?: $($with:ident($field:ident: $type:ty)),+ $(,)?) => {
        impl $(<$life>)? $name $(<$life>)? {
            $(
                #[doc = concat!("Sets `", stringify!($field), "`.")]
                #[must_use]
                pub fn $with(mut self, $field: $type) -> Self {
                    self.$field = $field.into();
                    self
                }
            )+
        }
    };
}
