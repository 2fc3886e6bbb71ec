"""Accountants with the manners of other libraries, which answer with upper ends of certified brackets."""
