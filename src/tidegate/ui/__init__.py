"""What people see: pictures of streams and orders in the terminal."""

from tidegate.ui.palette import INK, paint
from tidegate.ui.pictures import lanes, run_picture, side_by_side

__all__ = ["INK", "lanes", "paint", "run_picture", "side_by_side"]
