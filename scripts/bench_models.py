"""The models that scripts measure, and the sizes of symbolic inputs."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = pathlib.Path(os.environ.get("TREADLE_MODELS", ROOT.parent / "shared/models"))
TREADLE = ROOT / "build/release/treadle"

# Sizes for models whose inputs are symbolic.
SHAPES = {
    "yunet_n_dynamic": {"input": "1,3,320,320"},
    "ppocr_v2_cls": {"x": "1,3,48,192"},
    "ppocr_v4_det": {"x": "1,3,320,320"},
    "basic_pitch": {"serving_default_input_2:0": "1,43844,1"},
    "oww_embedding": {"input_1": "1,76,32,1"},
    "oww_melspectrogram": {"input": "1,32000"},
    "magika_v3_3": {"bytes": "1,2048"},
    "byte_sb_bidi_lstm": {"input": "1,64"},
}

# And where the symbols have names that several inputs share.
SYMBOLS = {"stories260k": {"batch": 1, "seq": 64, "past": 0}}
