// Separable resampling of interleaved 8-bit RGB in WebAssembly SIMD: the two passes of resample.ts, which plans them.
// Weights are 16-bit with 14 fraction bits, in runs of `longest` for each place (a multiple of 4, unused ones 0).
// Reads go up to 16 bytes, and one row for a weight of 0, past what counts: the caller leaves room for them.
#include <stdint.h>
#include <wasm_simd128.h>

#define FRACTION_BITS 14

static inline v128_t round_down(v128_t sum) {
  return wasm_i32x4_shr(sum, FRACTION_BITS);
}

// Pass along y: each row of the result is a weighted sum of rows, 16 columns at a time, two rows to one multiplication.
__attribute__((export_name("columns"))) void columns(const uint8_t *source, int32_t source_stride, uint8_t *target,
                                                     int32_t target_stride, int32_t row_bytes, int32_t rows,
                                                     const int32_t *first, const int16_t *weights, int32_t longest) {
  for (int32_t y = 0; y < rows; y += 1) {
    const uint8_t *top = source + first[y] * source_stride;
    const int16_t *taps = weights + y * longest;
    for (int32_t x = 0; x < row_bytes; x += 16) {
      v128_t sum0 = wasm_i32x4_const_splat(1 << (FRACTION_BITS - 1));
      v128_t sum1 = sum0, sum2 = sum0, sum3 = sum0;
      const uint8_t *from = top + x;
      for (int32_t tap = 0; tap < longest; tap += 2) {
        v128_t weight = wasm_v128_load32_splat(taps + tap);
        v128_t above = wasm_v128_load(from);
        v128_t below = wasm_v128_load(from + source_stride);
        v128_t left = wasm_i8x16_shuffle(above, below, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        v128_t right = wasm_i8x16_shuffle(above, below, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        sum0 = wasm_i32x4_add(sum0, wasm_i32x4_dot_i16x8(wasm_u16x8_extend_low_u8x16(left), weight));
        sum1 = wasm_i32x4_add(sum1, wasm_i32x4_dot_i16x8(wasm_u16x8_extend_high_u8x16(left), weight));
        sum2 = wasm_i32x4_add(sum2, wasm_i32x4_dot_i16x8(wasm_u16x8_extend_low_u8x16(right), weight));
        sum3 = wasm_i32x4_add(sum3, wasm_i32x4_dot_i16x8(wasm_u16x8_extend_high_u8x16(right), weight));
        from += 2 * source_stride;
      }
      v128_t low = wasm_i16x8_narrow_i32x4(round_down(sum0), round_down(sum1));
      v128_t high = wasm_i16x8_narrow_i32x4(round_down(sum2), round_down(sum3));
      wasm_v128_store(target + y * target_stride + x, wasm_u8x16_narrow_i16x8(low, high));
    }
  }
}

// Pass along x: one pixel of the result at a time, its three sums in three lanes, four source pixels to two
// multiplications.
__attribute__((export_name("rows"))) void rows(const uint8_t *source, int32_t source_stride, uint8_t *target,
                                               int32_t width, int32_t height, const int32_t *first,
                                               const int16_t *weights, int32_t longest) {
  const v128_t pair0 = wasm_i8x16_const(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const v128_t pair1 = wasm_i8x16_const(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  for (int32_t y = 0; y < height; y += 1) {
    const uint8_t *row = source + y * source_stride;
    uint8_t *to = target + y * width * 3;
    for (int32_t x = 0; x < width; x += 1) {
      const uint8_t *from = row + first[x] * 3;
      const int16_t *taps = weights + x * longest;
      v128_t sum = wasm_i32x4_const_splat(1 << (FRACTION_BITS - 1));
      for (int32_t tap = 0; tap < longest; tap += 4) {
        v128_t pixels = wasm_v128_load(from);
        sum = wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(wasm_i8x16_swizzle(pixels, pair0), wasm_v128_load32_splat(taps + tap)));
        sum = wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(wasm_i8x16_swizzle(pixels, pair1), wasm_v128_load32_splat(taps + tap + 2)));
        from += 12;
      }
      v128_t words = wasm_i16x8_narrow_i32x4(round_down(sum), sum);
      v128_t bytes = wasm_u8x16_narrow_i16x8(words, words);
      wasm_v128_store32_lane(to + x * 3, bytes, 0);
    }
  }
}
