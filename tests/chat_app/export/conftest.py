"""A real database in a fresh folder, as the tests of the store have it."""

from tests.db.conftest import file_url as file_url
from tests.db.conftest import make as make
from tests.db.conftest import path as path
