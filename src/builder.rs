//! Writes the `with_*` methods of structs of options.

/// Writes a `with_*` method for each field of a `#[non_exhaustive]` struct:
/// `builder! { Policy: with_rise(rise: u8), with_hold(hold: Duration) }`. The argument may be
/// `impl Into<..>` of the type of the field. The documentation of each method names its field.
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
