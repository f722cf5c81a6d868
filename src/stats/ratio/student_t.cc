#include "stats/ratio/student_t.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace etprof::stats {
namespace {

using StudentT = boost::math::students_t_distribution<double>;

}  // namespace

double TwoSidedP(double t, double degrees_of_freedom) {
  if (std::isinf(t)) return 0;
  return 2 * boost::math::cdf(boost::math::complement(StudentT(degrees_of_freedom), std::fabs(t)));
}

double CriticalValue(double confidence, double degrees_of_freedom) {
  if (!(confidence > 0 && confidence <= 1)) throw std::invalid_argument("a confidence lies in (0, 1]");
  if (confidence == 1) return std::numeric_limits<double>::infinity();
  return boost::math::quantile(boost::math::complement(StudentT(degrees_of_freedom), (1 - confidence) / 2));
}

}  // namespace etprof::stats
