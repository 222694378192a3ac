import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The proof between services, docs/service-proof.md, with Java's standard library alone. */
final class Proof {
  static final String HEADER = "x-footnote-proof";
  static final String EVERY_METHOD = "*";
  private static final long LONGEST_LIFE = 3660; // seconds
  private static final long LEEWAY = 30; // seconds that the signer's clock may be ahead
  private static final Pattern SHAPE =
      Pattern.compile("v1\\.([0-9a-f]{8})\\.([0-9]{1,12})\\.([0-9]{1,12})\\.([m*])\\.([A-Za-z0-9_-]*)\\.([0-9a-f]{64})");

  private Proof() {}

  /** One secret of the deployment. */
  record Key(String id, byte[] key) {
    static Key of(String secret) {
      byte[] bytes = secret.getBytes(StandardCharsets.UTF_8);
      String id = HexFormat.of().formatHex(hmac(bytes, "footnote service id")).substring(0, 8);
      return new Key(id, hmac(bytes, "footnote service key"));
    }
  }

  /** Returns the header of a call on behalf of a serialised scope; times are Unix seconds. */
  static String sign(Key key, String stage, String method, byte[] scope, long issued, long expires) {
    String methods = method.equals(EVERY_METHOD) ? EVERY_METHOD : "m";
    String text = Base64.getUrlEncoder().withoutPadding().encodeToString(scope);
    String head = String.join(".", "v1", key.id(), Long.toString(issued), Long.toString(expires), methods, text);
    return head + "." + mac(key, head, stage, method);
  }

  /** Returns the serialised scope that a header vouches for. `keys` are the secrets that are accepted, one or two. */
  static Optional<byte[]> verify(List<Key> keys, String header, String stage, String method, long now) {
    Matcher match = SHAPE.matcher(header);
    if (!match.matches()) {
      return Optional.empty();
    }
    String signed = match.group(4).equals(EVERY_METHOD) ? EVERY_METHOD : method;
    String head = header.substring(0, header.lastIndexOf('.'));
    boolean good = false;
    for (Key key : keys) {
      byte[] expected = mac(key, head, stage, signed).getBytes(StandardCharsets.US_ASCII);
      boolean same = MessageDigest.isEqual(expected, match.group(6).getBytes(StandardCharsets.US_ASCII));
      good |= key.id().equals(match.group(1)) && same;
    }
    long issued = Long.parseLong(match.group(2));
    long expires = Long.parseLong(match.group(3));
    boolean timely = issued <= now + LEEWAY && expires >= issued && expires - issued <= LONGEST_LIFE && now <= expires;
    if (!good || !timely) {
      return Optional.empty();
    }
    try {
      return Optional.of(Base64.getUrlDecoder().decode(match.group(5)));
    } catch (IllegalArgumentException noBase64) {
      return Optional.empty();
    }
  }

  private static String mac(Key key, String head, String stage, String method) {
    return HexFormat.of().formatHex(hmac(key.key(), head + "\n" + stage + "\n" + method));
  }

  private static byte[] hmac(byte[] key, String text) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
