"""One of the smallest architectures of each of timm's modules, without those of more than 100 million parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from cases.torch_zoo import Architecture, image

#: With the size of the images.
MODELS: dict[str, int] = {
    "beit_base_patch16_224": 224,
    "lambda_resnet50ts": 256,
    "mobileone_s1": 224,
    "cait_xxs24_224": 224,
    "coat_tiny": 224,
    "convit_tiny": 224,
    "convmixer_1024_20_ks9_p14": 224,
    "convnext_atto_rms": 224,
    "cpubone_nano": 224,
    "crossvit_tiny_240": 240,
    "cs3darknet_focus_s": 256,
    "cspnext_tiny": 224,
    "davit_tiny": 224,
    "deit_tiny_patch16_224": 224,
    "densenet201": 224,
    "dla60x_c": 224,
    "dpn107": 224,
    "edgenext_xx_small": 256,
    "efficientformer_l1": 224,
    "efficientformerv2_s0": 224,
    "mnasnet_small": 224,
    "efficientvim_m1": 224,
    "efficientvit_b0": 224,
    "efficientvit_m0": 224,
    "eva02_tiny_patch14_224": 224,
    "fasternet_t0": 224,
    "fastvit_t8": 256,
    "focalnet_tiny_srf": 224,
    "gcvit_xxtiny": 224,
    "ghostnet_050": 224,
    "hardcorenas_b": 224,
    "hgnetv2_b0": 224,
    "hiera_tiny_224": 224,
    "hrnet_w18_small": 224,
    "iformer_t": 224,
    "inception_next_atto": 224,
    "inception_resnet_v2": 299,
    "inception_v3": 299,
    "inception_v4": 299,
    "lcnetv2_small": 224,
    "levit_384_s8": 224,
    "lowformer_b0": 224,
    "mambaout_femto": 224,
    "maxvit_pico_rw_256": 256,
    "poolformerv2_s12": 224,
    "gmlp_ti16_224": 224,
    "mobilenetv3_small_050": 224,
    "mobilenetv5_base": 256,
    "mobilevit_xxs": 256,
    "mvitv2_tiny": 224,
    "naflexvit_base_patch16_siglip": 384,
    "nasnetalarge": 331,
    "nest_tiny": 224,
    "nextvit_small": 224,
    "nf_regnet_b0": 192,
    "pit_ti_224": 224,
    "pnasnet5large": 331,
    "pvt_v2_b0": 224,
    "rdnet_tiny": 224,
    "regnetx_002": 224,
    "repghostnet_050": 224,
    "repvit_m0_9": 224,
    "res2next50": 224,
    "resnest50d_1s4x24d": 224,
    "resnet10t": 176,
    "resnetv2_18": 224,
    "rexnet_100": 224,
    "selecsls60": 224,
    "legacy_seresnet18": 224,
    "sequencer2d_s": 224,
    "shvit_s1": 224,
    "skresnet18": 224,
    "starnet_s050": 224,
    "swiftformer_s": 224,
    "swin_tiny_patch4_window7_224": 224,
    "swinv2_tiny_window8_256": 256,
    "swinv2_cr_tiny_224": 224,
    "tiny_vit_5m_224": 224,
    "tnt_s_legacy_patch16_224": 224,
    "tresnet_m": 224,
    "twins_svt_small": 224,
    "visformer_tiny": 224,
    "flexivit_small": 240,
    "vit_tiny_r_s16_p8_224": 224,
    "vit_srelpos_small_patch16_224": 224,
    "samvit_base_patch16_224": 224,
    "vitamin_small_224": 224,
    "volo_d1_224": 224,
    "ese_vovnet19b_slim_dw": 224,
    "legacy_xception": 299,
    "xception41p": 299,
    "xcit_nano_12_p8_224": 224,
}


def architectures() -> Iterator[Architecture]:
    from cases.torch_zoo.torchvision_models import package

    package()  # timm imports it
    import timm

    for name, size in MODELS.items():
        yield Architecture("timm", name, made(timm.create_model, name), image(size, batch=1))


def made(create: Callable[..., nn.Module], name: str) -> Callable[[], Any]:
    return lambda: create(name, pretrained=False)
