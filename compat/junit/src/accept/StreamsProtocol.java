package accept;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.List;
import java.util.Set;

/**
 * Tests of Streams that run once over the group protocol of Streams (KIP-1071) and once over the classic one: the former are left out
 * where the broker does not serve it, since each of them would wait for its whole time-out.
 */
public final class StreamsProtocol implements InvocationInterceptor {
    /** Of the parameters that say which. */
    private static final Set<String> NAMES = Set.of("groupProtocol", "streamsProtocolEnabled", "useNewProtocol");

    @Override
    public void interceptTestTemplateMethod(Invocation<Void> test, ReflectiveInvocationContext<Method> invoked, ExtensionContext context) throws Throwable {
        if (wantsIt(invoked) && !Broker.servesStreamsGroups()) {
            test.skip();
            throw new Unsupported("groups of the Streams protocol");
        }
        test.proceed();
    }

    private static boolean wantsIt(ReflectiveInvocationContext<Method> invoked) {
        List<Object> values = invoked.getArguments();
        Parameter[] parameters = invoked.getExecutable().getParameters();
        for (int i = 0; i < parameters.length; i++) {
            Object value = values.get(i);
            if (NAMES.contains(parameters[i].getName()) && (Boolean.TRUE.equals(value) || "streams".equals(value))) return true;
        }
        return false;
    }
}
