"""Settings: their fields, their layers, and who may set what."""

from .endpoints import OPENAI_URL, normal_url, origin_of
from .fields import TOOL_SETS, Think, ToolSet, View, settings_table
from .layers import SITE_FILE, Loaded, Settings

__all__ = [
    "OPENAI_URL",
    "SITE_FILE",
    "TOOL_SETS",
    "Loaded",
    "Settings",
    "Think",
    "ToolSet",
    "View",
    "normal_url",
    "origin_of",
    "settings_table",
]
