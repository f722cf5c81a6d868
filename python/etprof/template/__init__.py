"""my_model for `etprof export my_model`, which finds it from the folder above: it reads this line and needs no other entry."""

from etprof.models import register_model

register_model("my_model", f"{__name__}.model:Model")  # imported only when the model is exported
