"""operators: what each operator costs against the generator one would write by hand, and the joints against peers."""
