// Source: timm models/mobilenetv5.py (mobilenetv5_300m_enc) and models/_efficientnet_blocks.py. The
// count, 294,126,912, meets what the published Gemma 3n repositories hold beside text and audio.
#include "model/towers/mobilenet_v5.h"

#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

// Every norm is an RMS norm over channels: a scale, no bias.
void add_conv(Builder& b, const std::string& name, int64_t out, int64_t in, int64_t kernel) {
  b.add(Role::tower, name + ".weight", {out, in, kernel, kernel});
}
void add_conv_norm(Builder& b, const std::string& name, int64_t out, int64_t in, int64_t kernel) {
  add_conv(b, name + ".conv", out, in, kernel);
  tower_norm(b, name + ".bn", out, false);
}

// A full convolution to `wide` channels and back.
void add_edge_residual(Builder& b, const std::string& p, int64_t in, int64_t out, int64_t wide) {
  add_conv(b, p + "conv_exp", wide, in, 3);
  tower_norm(b, p + "bn1", wide, false);
  add_conv(b, p + "conv_pwl", out, wide, 1);
  tower_norm(b, p + "bn2", out, false);
}

struct Bottleneck {
  int64_t out, wide;
  int64_t start = 0, middle = 0;  // kernels of the depthwise convolutions; 0 = none
};

void add_bottleneck(Builder& b, const std::string& p, int64_t in, const Bottleneck& block,
                    bool scaled = true) {
  if (block.start > 0) add_conv_norm(b, p + "dw_start", in, 1, block.start);
  add_conv_norm(b, p + "pw_exp", block.wide, in, 1);
  if (block.middle > 0) add_conv_norm(b, p + "dw_mid", block.wide, 1, block.middle);
  add_conv_norm(b, p + "pw_proj", block.out, block.wide, 1);
  if (scaled) b.add(Role::tower, p + "layer_scale.gamma", {block.out});
}

// Query heads share one key and one value, which a depthwise convolution may first make smaller.
void add_attention(Builder& b, const std::string& p, int64_t channels, int64_t heads, int64_t dim,
                   bool downsampled) {
  tower_norm(b, p + "norm", channels, false);
  add_conv(b, p + "attn.query.proj", heads * dim, channels, 1);
  for (const std::string_view name : {"key", "value"}) {
    const std::string part = p + "attn." + std::string(name) + ".";
    if (downsampled) {
      add_conv(b, part + "down_conv", channels, 1, 3);
      tower_norm(b, part + "norm", channels, false);
    }
    add_conv(b, part + "proj", dim, channels, 1);
  }
  add_conv(b, p + "attn.output.proj", channels, heads * dim, 1);
  b.add(Role::tower, p + "layer_scale.gamma", {channels});
}

// Opens the blocks of a stage one after the other.
class Stage {
 public:
  Stage(Builder& b, int64_t stage) : b_(b), list_(block_scope("blocks.", stage)) {}
  std::string next() { return block_scope(list_, index_++); }
  void bottleneck(int64_t in, const Bottleneck& block) { add_bottleneck(b_, next(), in, block); }

 private:
  Builder& b_;
  std::string list_;
  int64_t index_ = 0;
};

}  // namespace

void add_mobilenet_v5(Builder& b, std::string scope) {
  begin_tower(b, std::move(scope));
  add_conv_norm(b, "conv_stem", 64, 3, 3);
  b.add(Role::tower, "conv_stem.conv.bias", {64});

  Stage edge(b, 0);
  add_edge_residual(b, edge.next(), 64, 128, 256);
  add_edge_residual(b, edge.next(), 128, 128, 512);
  add_edge_residual(b, edge.next(), 128, 128, 512);

  Stage narrow(b, 1);
  narrow.bottleneck(128, {256, 768, 3, 5});
  for (const int64_t kernel : {5, 3, 5, 3}) narrow.bottleneck(256, {256, 1024, kernel});

  Stage middle(b, 2);
  middle.bottleneck(256, {640, 1536, 5, 5});
  for (int i = 0; i < 7; ++i) middle.bottleneck(640, {640, 2560, 5});
  middle.bottleneck(640, {640, 640});
  for (int i = 0; i < 14; ++i) {
    add_attention(b, middle.next(), 640, 12, 64, true);
    middle.bottleneck(640, {640, 1280});
  }

  Stage wide(b, 3);
  wide.bottleneck(640, {1280, 3840, 5, 5});
  for (int i = 0; i < 19; ++i) {
    add_attention(b, wide.next(), 1280, 16, 96, false);
    wide.bottleneck(1280, {1280, 2560});
  }

  // Fuses what the last two stages say.
  add_bottleneck(b, "msfa.ffn.", 640 + 1280, {kMobileNetV5Channels, 3840}, false);
  tower_norm(b, "msfa.norm", kMobileNetV5Channels, false);
}

}  // namespace vramwise::model
