#include "rewrite/engine/Code.h"

#include "rewrite/Fixture.h"
#include "rewrite/engine/CoarseEngine.h"
#include "runtime/system/Json.h"

namespace headrace::rewrite {

namespace {

const char *const machine = R"({"name": "m", "element": "float16", "saturates": true,
  "accumulate": "float32", "chip_bytes": 1024, "cost_per_byte": {"load": 1, "store": 1, "output": 1},
  "operators": [{"name": "VVAdd", "sizes": [4], "cost": 1}]})";

} // namespace

class CodeTest : public RewriteTest {
protected:
  std::string code(const std::string &of = "toOutput(VVAdd[4](toChip(tensor[x, 4]), "
                                           "toChip(tensor[c, 4])))") {
    CoarseCode code;
    code.machine = machine;
    code.term = term(of);
    code.inputs = {{"x", {4}, {}, true}, {"c", {4}, 0.1, false}};
    code.batch = DimExpr::symbol(0);
    return toText(code, terms);
  }

  // The program of one step that reads `in` bytes and writes four numbers for each element.
  Program program(const DimExpr &in) {
    Program result;
    result.name = "test";
    result.origin = "test.hrpkg"; // not made here: whoever wrote it is told
    result.symbols = {{"batch", 1}};
    DimExpr bytes = DimExpr::constant(16) * DimExpr::symbol(0);
    for (const DimExpr &size : {in, bytes}) {
      BufferInfo &buffer = result.buffers.emplace_back();
      buffer.bytes = size;
      buffer.engine = "coarse";
    }
    Step &step = result.steps.emplace_back();
    step.engine = "coarse";
    step.name = "add";
    step.symbol = "kernel";
    step.operands = {0, 1};
    return result;
  }

  std::string loadError(const Program &program, const std::string &text) {
    ProgramCode given;
    given.images = {{"kernel", text}};
    return errorOf([&] { (void)coarseEngine().load(program, given); });
  }
};

TEST_F(CodeTest, NumbersNeedNotBeFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double number : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.1}) {
    CoarseCode given;
    given.machine = machine;
    given.term = term("tensor[c, 4]");
    given.inputs = {{"c", {4}, number, false}};
    given.batch = DimExpr::constant(1);
    CoarseCode read = fromText(toText(given, terms), terms);
    ASSERT_TRUE(read.inputs[0].number);
    EXPECT_EQ(std::to_string(*read.inputs[0].number), std::to_string(number));
  }
}

TEST_F(CodeTest, TextGivesTheSameCode) {
  std::string text = code();
  Vocabulary otherWords;
  Terms others(otherWords);
  CoarseCode read = fromText(text, others);
  EXPECT_EQ(print(others, read.term), print(terms, term("toOutput(VVAdd[4](toChip(tensor[x, 4]), "
                                                        "toChip(tensor[c, 4])))")));
  EXPECT_EQ(read.batch, DimExpr::symbol(0));
  ASSERT_EQ(read.inputs.size(), 2u);
  EXPECT_TRUE(read.inputs[0].leads && !read.inputs[0].number);
  EXPECT_EQ(read.inputs[1].number, 0.1);
  EXPECT_EQ(toText(read, others), text);
}

TEST_F(CodeTest, TextThatIsNoCodeIsRefused) {
  std::string good = code();
  for (std::string text :
       {std::string(), std::string("{}"), std::string("[]"), good.substr(0, good.size() / 2)})
    EXPECT_THROW(fromText(text, terms), JsonFault) << text;
  Json json = Json::parse(good);
  json["term"] = Json::array();
  EXPECT_THROW(fromText(json.dump(), terms), JsonFault);
  json["term"] = Json::parse(R"([["toChip", [], [0]]])"); // reads itself
  EXPECT_THROW(fromText(json.dump(), terms), JsonFault);
}

TEST_F(CodeTest, AKernelThatReadsBeyondItsOperandsIsNotLoaded) {
  DimExpr bytes = DimExpr::constant(16) * DimExpr::symbol(0);
  EXPECT_EQ(loadError(program(bytes), code()), "");
  EXPECT_NE(loadError(program(DimExpr::constant(16)), code()), "");
  EXPECT_NE(loadError(program(DimExpr::constant(8) * DimExpr::symbol(0)), code()), "");
}

TEST_F(CodeTest, ATermThatReadsOtherTensorsOrHasNoShapeIsNotLoaded) {
  DimExpr bytes = DimExpr::constant(16) * DimExpr::symbol(0);
  EXPECT_NE(loadError(program(bytes), code("toOutput(tensor[y, 4])")), "");
  EXPECT_NE(loadError(program(bytes), code("toOutput(tensor[x, 5])")), "");
  EXPECT_NE(loadError(program(bytes), code("join[1](tensor[x, 4])")), "");
  EXPECT_NE(loadError(program(bytes), code("nothing(tensor[x, 4])")), "");
}

} // namespace headrace::rewrite
