//! The macro that writes the `with_*` methods of options.

/// Writes a `with_*` method for each field, such as
/// `builder! { Policy: with_rise(rise: u8), with_hold(hold: Duration) }`. Options are
/// `#[non_exhaustive]`, so users cannot write a literal. An argument may be `impl Into<..>` of the
/// field's type.
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
