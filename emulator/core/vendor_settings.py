"""Base of the settings that a vendor has in a scenario."""

from pydantic import BaseModel, ConfigDict


class VendorSettings(BaseModel):
    """Base of a scenario's ``vendors.<name>`` section."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)

    def ignores_tools(self) -> bool:
        """Return whether no request offers tools under these settings."""
        return False
