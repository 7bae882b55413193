import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


def test_generated_files_are_fresh() -> None:
    done = subprocess.run([sys.executable, HERE / "generate.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
