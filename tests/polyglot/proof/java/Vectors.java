import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Every case of the file named on the command line; exit code 1 when one comes out otherwise. */
final class Vectors {
  private Vectors() {}

  public static void main(String[] arguments) throws Exception {
    List<String> lines = Files.readAllLines(Path.of(arguments[0]));
    String[] names = lines.get(0).split("\t", -1);
    int failed = 0;
    for (String line : lines.subList(1, lines.size())) {
      String[] values = line.split("\t", -1);
      Map<String, String> vector = new HashMap<>();
      for (int at = 0; at < names.length; at++) {
        vector.put(names[at], values[at]);
      }
      String problem = problemOf(vector);
      if (!problem.isEmpty()) {
        failed++;
        System.out.println(vector.get("name") + ": " + problem);
      }
    }
    System.out.println((lines.size() - 1) + " vectors, " + failed + " failed");
    System.exit(failed == 0 ? 0 : 1);
  }

  private static String problemOf(Map<String, String> vector) {
    List<Proof.Key> keys = Arrays.stream(vector.get("secrets").split(",")).map(Proof.Key::of).toList();
    long now = Long.parseLong(vector.get("now"));
    String proof = vector.get("proof");
    String stage = vector.get("audience");
    Optional<byte[]> scope = Proof.verify(keys, proof, stage, vector.get("method"), now);
    if (vector.get("result").equals("refuse")) {
      return scope.isEmpty() ? "" : "it was accepted";
    }
    if (scope.isEmpty() || !HexFormat.of().formatHex(scope.get()).equals(vector.get("scope"))) {
      return "it was refused, or has another scope";
    }
    // Signed again with the same key and times it is the same.
    String[] parts = proof.split("\\.");
    String method = parts[4].equals(Proof.EVERY_METHOD) ? Proof.EVERY_METHOD : vector.get("method");
    boolean same =
        keys.stream()
            .filter(key -> key.id().equals(parts[1]))
            .map(key -> Proof.sign(key, stage, method, scope.get(), Long.parseLong(parts[2]), Long.parseLong(parts[3])))
            .anyMatch(proof::equals);
    return same ? "" : "signed again it is another";
  }
}
