"""What may happen: rules, modes, secrets."""
