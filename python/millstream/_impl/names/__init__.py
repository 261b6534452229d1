"""What the public modules do about names that they lack, or make when first asked for."""
