//! TLS, SASL and authorization.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "authorizer.class.name": String = "", ANY, Low, read_only, later
        => "The fully qualified name of a class that implements \
            org.apache.kafka.server.authorizer.Authorizer interface, which is used by the broker for \
            authorization.";
    "connections.max.reauth.ms": Long = "0", ANY, Medium, read_only, later
        => "When explicitly set to a positive number (the default is 0, not a positive number), a session \
            lifetime that will not exceed the configured value will be communicated to v2.2.0 or later \
            clients when they authenticate.";
    "delegation.token.expiry.check.interval.ms": Long = "3600000", at_least(1), Low, read_only, later
        => "Scan interval to remove expired delegation tokens.";
    "delegation.token.expiry.time.ms": Long = "86400000", at_least(1), Medium, read_only, later
        => "The token validity time in milliseconds before the token needs to be renewed.";
    "delegation.token.max.lifetime.ms": Long = "604800000", at_least(1), Medium, read_only, later
        => "The token has a maximum lifetime beyond which it cannot be renewed anymore.";
    "delegation.token.secret.key": Password = null, ANY, Medium, read_only, later
        => "Secret key to generate and verify delegation tokens.";
    "principal.builder.class": Class = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", ANY, Medium, per_broker, not_here
        => "The fully qualified name of a class that implements the KafkaPrincipalBuilder interface, which \
            is used to build the KafkaPrincipal object used during authorization.";
    "sasl.client.callback.handler.class": Class = null, ANY, Medium, read_only, not_here
        => "The fully qualified name of a SASL client callback handler class that implements the \
            AuthenticateCallbackHandler interface.";
    "sasl.enabled.mechanisms": List = "GSSAPI", ANY, Medium, per_broker, later
        => "The list of SASL mechanisms enabled in the Kafka server.";
    "sasl.jaas.config": Password = null, ANY, Medium, per_broker, later
        => "JAAS login context parameters for SASL connections in the format used by JAAS configuration \
            files.";
    "sasl.kerberos.kinit.cmd": String = "/usr/bin/kinit", ANY, Medium, per_broker, not_here
        => "Kerberos kinit command path.";
    "sasl.kerberos.min.time.before.relogin": Long = "60000", ANY, Medium, per_broker, not_here
        => "Login thread sleep time between refresh attempts.";
    "sasl.kerberos.principal.to.local.rules": List = "DEFAULT", ANY, Medium, per_broker, not_here
        => "A list of rules for mapping from principal names to short names (typically operating system \
            usernames).";
    "sasl.kerberos.service.name": String = null, ANY, Medium, per_broker, not_here
        => "The Kerberos principal name that Kafka runs as.";
    "sasl.kerberos.ticket.renew.jitter": Double = "0.05", ANY, Medium, per_broker, not_here
        => "Percentage of random jitter added to the renewal time.";
    "sasl.kerberos.ticket.renew.window.factor": Double = "0.8", ANY, Medium, per_broker, not_here
        => "Login thread will sleep until the specified window factor of time from last refresh to ticket's \
            expiry has been reached, at which time it will try to renew the ticket.";
    "sasl.login.callback.handler.class": Class = null, ANY, Medium, read_only, not_here
        => "The fully qualified name of a SASL login callback handler class that implements the \
            AuthenticateCallbackHandler interface.";
    "sasl.login.class": Class = null, ANY, Medium, read_only, not_here
        => "The fully qualified name of a class that implements the Login interface.";
    "sasl.login.connect.timeout.ms": Int = null, ANY, Low, read_only, not_here
        => "The (optional) value in milliseconds for the external authentication provider connection \
            timeout.";
    "sasl.login.read.timeout.ms": Int = null, ANY, Low, read_only, not_here
        => "The (optional) value in milliseconds for the external authentication provider read timeout.";
    "sasl.login.refresh.buffer.seconds": Short = "300", ANY, Medium, per_broker, not_here
        => "The amount of buffer time before credential expiration to maintain when refreshing a credential, \
            in seconds.";
    "sasl.login.refresh.min.period.seconds": Short = "60", ANY, Medium, per_broker, not_here
        => "The desired minimum time for the login refresh thread to wait before refreshing a credential, in \
            seconds.";
    "sasl.login.refresh.window.factor": Double = "0.8", ANY, Medium, per_broker, not_here
        => "Login refresh thread will sleep until the specified window factor relative to the credential's \
            lifetime has been reached, at which time it will try to refresh the credential.";
    "sasl.login.refresh.window.jitter": Double = "0.05", ANY, Medium, per_broker, not_here
        => "The maximum amount of random jitter relative to the credential's lifetime that is added to the \
            login refresh thread's sleep time.";
    "sasl.login.retry.backoff.max.ms": Long = "10000", ANY, Low, read_only, not_here
        => "The (optional) value in milliseconds for the maximum wait between login attempts to the external \
            authentication provider.";
    "sasl.login.retry.backoff.ms": Long = "100", ANY, Low, read_only, not_here
        => "The (optional) value in milliseconds for the initial wait between login attempts to the external \
            authentication provider.";
    "sasl.mechanism.controller.protocol": String = "GSSAPI", ANY, High, read_only, not_here
        => "SASL mechanism used for communication with controllers.";
    "sasl.mechanism.inter.broker.protocol": String = "GSSAPI", ANY, Medium, per_broker, not_here
        => "SASL mechanism used for inter-broker communication.";
    "sasl.oauthbearer.allow.unverified.audience": Boolean = "false", ANY, Medium, read_only, later
        => "The (optional) setting that allows the broker to validate JWTs without verifying the audience.";
    "sasl.oauthbearer.allow.unverified.issuer": Boolean = "false", ANY, Medium, read_only, later
        => "The (optional) setting that allows the broker to validate JWTs without verifying the issuer.";
    "sasl.oauthbearer.assertion.algorithm": String = "RS256", one_of_ignoring_case(&["ES256", "RS256"]), Medium, read_only, later
        => "The algorithm the Apache Kafka client should use to sign the assertion sent to the identity \
            provider.";
    "sasl.oauthbearer.assertion.claim.aud": String = null, ANY, Medium, read_only, later
        => "The JWT aud (Audience) claim which will be included in the client JWT assertion created locally.";
    "sasl.oauthbearer.assertion.claim.exp.seconds": Int = "300", between(0, 86400), Low, read_only, later
        => "The number of seconds in the future for which the JWT is valid.";
    "sasl.oauthbearer.assertion.claim.iss": String = null, ANY, Medium, read_only, later
        => "The value to be used as the iss (Issuer) claim which will be included in the client JWT \
            assertion created locally.";
    "sasl.oauthbearer.assertion.claim.jti.include": Boolean = "false", ANY, Medium, read_only, later
        => "Flag that determines if the JWT assertion should generate a unique ID for the JWT and include it \
            in the jti (JWT ID) claim.";
    "sasl.oauthbearer.assertion.claim.nbf.seconds": Int = "60", between(0, 3600), Low, read_only, later
        => "The number of seconds in the past from which the JWT is valid.";
    "sasl.oauthbearer.assertion.claim.sub": String = null, ANY, Medium, read_only, later
        => "The value to be used as the sub (Subject) claim which will be included in the client JWT \
            assertion created locally.";
    "sasl.oauthbearer.assertion.file": String = null, ANY, Medium, read_only, later
        => "File that contains a pre-generated JWT assertion.";
    "sasl.oauthbearer.assertion.private.key.file": String = null, ANY, Medium, read_only, later
        => "File that contains a private key in the standard PEM format which is used to sign the JWT \
            assertion sent to the identity provider.";
    "sasl.oauthbearer.assertion.private.key.passphrase": Password = null, ANY, Medium, read_only, later
        => "The optional passphrase to decrypt the private key file specified by \
            sasl.oauthbearer.assertion.private.key.file.";
    "sasl.oauthbearer.assertion.template.file": String = null, ANY, Medium, read_only, later
        => "This optional configuration specifies the file containing the JWT headers and/or payload claims \
            to be used when creating the JWT assertion.";
    "sasl.oauthbearer.client.credentials.client.id": String = null, ANY, Medium, read_only, later
        => "The ID (defined in/by the OAuth identity provider) to identify the client requesting the token.";
    "sasl.oauthbearer.client.credentials.client.secret": Password = null, ANY, Medium, read_only, later
        => "The secret (defined by either the user or preassigned, depending on the identity provider) of \
            the client requesting the token.";
    "sasl.oauthbearer.clock.skew.seconds": Int = "30", ANY, Low, read_only, later
        => "The (optional) value in seconds to allow for differences between the time of the OAuth/OIDC \
            identity provider and the broker.";
    "sasl.oauthbearer.expected.audience": List = "", ANY, High, read_only, later
        => "The comma-delimited setting for the broker to use to verify that the JWT was issued for one of \
            the expected audiences.";
    "sasl.oauthbearer.expected.issuer": String = null, ANY, High, read_only, later
        => "The setting for the broker to use to verify that the JWT was created by the expected issuer.";
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": Long = "3600000", ANY, Low, read_only, later
        => "The (optional) value in milliseconds for the broker to wait between refreshing its JWKS (JSON \
            Web Key Set) cache that contains the keys to verify the signature of the JWT.";
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": Long = "10000", ANY, Low, read_only, later
        => "The (optional) value in milliseconds for the maximum wait between attempts to retrieve the JWKS \
            (JSON Web Key Set) from the external authentication provider.";
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": Long = "100", ANY, Low, read_only, later
        => "The (optional) value in milliseconds for the initial wait between JWKS (JSON Web Key Set) \
            retrieval attempts from the external authentication provider.";
    "sasl.oauthbearer.jwks.endpoint.url": String = null, ANY, Medium, read_only, later
        => "The OAuth/OIDC provider URL from which the provider's JWKS (JSON Web Key Set) can be retrieved.";
    "sasl.oauthbearer.jwt.retriever.class": Class = "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever", ANY, Medium, read_only, not_here
        => "The fully-qualified class name of a JwtRetriever implementation used to request tokens from the \
            identity provider.";
    "sasl.oauthbearer.jwt.validator.class": Class = "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator", ANY, Medium, read_only, not_here
        => "The fully-qualified class name of a JwtValidator implementation used to validate the JWT from \
            the identity provider.";
    "sasl.oauthbearer.scope": String = null, ANY, Medium, read_only, later
        => "This is the level of access a client application is granted to a resource or API which is \
            included in the token request.";
    "sasl.oauthbearer.scope.claim.name": String = "scope", ANY, Low, read_only, later
        => "The OAuth claim for the scope is often named 'scope', but this (optional) setting can provide a \
            different name to use for the scope included in the JWT payload's claims if the OAuth/OIDC \
            provider uses a different name for that claim.";
    "sasl.oauthbearer.sub.claim.name": String = "sub", ANY, Low, read_only, later
        => "The OAuth claim for the subject is often named 'sub', but this (optional) setting can provide a \
            different name to use for the subject included in the JWT payload's claims if the OAuth/OIDC \
            provider uses a different name for that claim.";
    "sasl.oauthbearer.token.endpoint.url": String = null, ANY, Medium, read_only, later
        => "The URL for the OAuth/OIDC identity provider.";
    "sasl.server.callback.handler.class": Class = null, ANY, Medium, read_only, later
        => "The fully qualified name of a SASL server callback handler class that implements the \
            AuthenticateCallbackHandler interface.";
    "sasl.server.max.receive.size": Int = "524288", ANY, Medium, read_only, later
        => "The maximum receive size allowed before and during initial SASL authentication.";
    "security.inter.broker.protocol": String = "PLAINTEXT", one_of(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]), Medium, read_only, not_here
        => "Security protocol used to communicate between brokers.";
    "security.providers": String = null, ANY, Low, read_only, not_here
        => "A list of configurable creator classes each returning a provider implementing security \
            algorithms.";
    "ssl.allow.dn.changes": Boolean = "false", ANY, Low, read_only, later
        => "Indicates whether changes to the certificate distinguished name should be allowed during a \
            dynamic reconfiguration of certificates or not.";
    "ssl.allow.san.changes": Boolean = "false", ANY, Low, read_only, later
        => "Indicates whether changes to the certificate subject alternative names should be allowed during \
            a dynamic reconfiguration of certificates or not.";
    "ssl.cipher.suites": List = "", ANY, Medium, per_broker, later
        => "A list of cipher suites.";
    "ssl.client.auth": String = "none", one_of(&["required", "requested", "none"]), Medium, per_broker, later
        => "Configures kafka broker to request client authentication.";
    "ssl.enabled.protocols": List = "TLSv1.2,TLSv1.3", ANY, Medium, per_broker, later
        => "The list of protocols enabled for SSL connections.";
    "ssl.endpoint.identification.algorithm": String = "https", ANY, Low, per_broker, later
        => "The endpoint identification algorithm to validate server hostname using server certificate.";
    "ssl.engine.factory.class": Class = null, ANY, Low, per_broker, not_here
        => "The class of type org.apache.kafka.common.security.auth.SslEngineFactory to provide SSLEngine \
            objects.";
    "ssl.key.password": Password = null, ANY, Medium, per_broker, later
        => "The password of the private key in the key store file or the PEM key specified in \
            'ssl.keystore.key'.";
    "ssl.keymanager.algorithm": String = "SunX509", ANY, Medium, per_broker, not_here
        => "The algorithm used by key manager factory for SSL connections.";
    "ssl.keystore.certificate.chain": Password = null, ANY, Medium, per_broker, later
        => "Certificate chain in the format specified by 'ssl.keystore.type'.";
    "ssl.keystore.key": Password = null, ANY, Medium, per_broker, later
        => "Private key in the format specified by 'ssl.keystore.type'.";
    "ssl.keystore.location": String = null, ANY, Medium, per_broker, later
        => "The location of the key store file.";
    "ssl.keystore.password": Password = null, ANY, Medium, per_broker, later
        => "The store password for the key store file.";
    "ssl.keystore.type": String = "JKS", ANY, Medium, per_broker, later
        => "The file format of the key store file.";
    "ssl.principal.mapping.rules": String = "DEFAULT", ANY, Low, read_only, later
        => "A list of rules for mapping from distinguished name from the client certificate to short name.";
    "ssl.protocol": String = "TLSv1.3", ANY, Medium, per_broker, later
        => "The SSL protocol used to generate the SSLContext.";
    "ssl.provider": String = null, ANY, Medium, per_broker, not_here
        => "The name of the security provider used for SSL connections.";
    "ssl.secure.random.implementation": String = null, ANY, Low, per_broker, not_here
        => "The SecureRandom PRNG implementation to use for SSL cryptography operations.";
    "ssl.trustmanager.algorithm": String = "PKIX", ANY, Medium, per_broker, not_here
        => "The algorithm used by trust manager factory for SSL connections.";
    "ssl.truststore.certificates": Password = null, ANY, Medium, per_broker, later
        => "Trusted certificates in the format specified by 'ssl.truststore.type'.";
    "ssl.truststore.location": String = null, ANY, Medium, per_broker, later
        => "The location of the trust store file.";
    "ssl.truststore.password": Password = null, ANY, Medium, per_broker, later
        => "The password for the trust store file.";
    "ssl.truststore.type": String = "JKS", ANY, Medium, per_broker, later
        => "The file format of the trust store file.";
};
