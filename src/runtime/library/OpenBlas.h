// OpenBLAS and the LAPACK inside it: the functions we call, found at run time.
#pragma once

#include <complex>
#include <cstddef>
#include <string_view>

namespace headrace {

// Enumerators and signatures that cblas.h and Fortran's interface of LAPACK fix.
namespace blas {

enum Order : int { RowMajor = 101, ColumnMajor = 102 };
enum Transpose : int { Plain = 111, Transposed = 112 };
enum Triangle : int { Upper = 121, Lower = 122 };
enum Diagonal : int { NonUnit = 131, Unit = 132 };
enum Side : int { Left = 141, Right = 142 };

} // namespace blas

/// The BLAS of one element type.
template <class T> struct Blas {
  void (*gemm)(blas::Order, blas::Transpose a, blas::Transpose b, int m, int n, int k, T alpha,
               const T *a_, int lda, const T *b_, int ldb, T beta, T *c, int ldc);
  void (*gemv)(blas::Order, blas::Transpose, int rows, int columns, T alpha, const T *a, int lda,
               const T *x, int stepX, T beta, T *y, int stepY);
  void (*syrk)(blas::Order, blas::Triangle, blas::Transpose, int n, int k, T alpha, const T *a,
               int lda, T beta, T *c, int ldc);
  void (*trsm)(blas::Order, blas::Side, blas::Triangle, blas::Transpose, blas::Diagonal, int m,
               int n, T alpha, const T *a, int lda, T *b, int ldb);
};

/// The factorizations of LAPACK, by element type. Matrices are column-major; numbers are passed by
/// address; the length of every text follows at the end.
template <class T> struct Factorizations {
  void (*getrf)(const int *m, const int *n, T *a, const int *lda, int *pivots, int *info);
  void (*getrs)(const char *trans, const int *n, const int *columns, const T *a, const int *lda,
                const int *pivots, T *b, const int *ldb, int *info, size_t);
  void (*potrf)(const char *triangle, const int *n, T *a, const int *lda, int *info, size_t);
  void (*potrs)(const char *triangle, const int *n, const int *columns, const T *a, const int *lda,
                T *b, const int *ldb, int *info, size_t);
};

/// The rest of LAPACK, on doubles.
struct Lapack : Factorizations<double> {
  void (*laswp)(const int *columns, double *a, const int *lda, const int *first, const int *last,
                const int *pivots, const int *step);
  void (*geqrf)(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
                const int *workSize, int *info);
  void (*syevd)(const char *vectors, const char *triangle, const int *n, double *a, const int *lda,
                double *values, double *work, const int *workSize, int *integerWork,
                const int *integerWorkSize, int *info, size_t, size_t);
  void (*gesdd)(const char *vectors, const int *m, const int *n, double *a, const int *lda,
                double *values, double *u, const int *ldu, double *vt, const int *ldvt,
                double *work, const int *workSize, int *integerWork, int *info, size_t);
};

/// The library, with one thread: those of our pool call it. That makes it safe after a fork, and
/// results the same for any number of threads.
struct OpenBlas {
  Blas<float> f32;
  Blas<double> f64;
  Lapack lapack;
  Factorizations<std::complex<double>> complex;

  template <class T> const Blas<T> &of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return f32;
    else
      return f64;
  }
};

/// Loaded at first use, from HEADRACE_OPENBLAS if that is set (to nothing: as if there were
/// none). Null if it is not on this machine.
const OpenBlas *openBlas();

/// How to get it, for messages.
inline constexpr std::string_view getOpenBlas =
    "install libopenblas0-pthread, or name the file of OpenBLAS in HEADRACE_OPENBLAS";

} // namespace headrace
