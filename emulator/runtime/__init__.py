"""What is at work: a scenario, its vendors, its clock, and the worlds of sessions."""
