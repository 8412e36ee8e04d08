// Connections to servers that users name. Each address is checked where the socket is created, so that no second DNS lookup can change it (DNS
// rebinding).
//
//   C1. The socket may use only checked addresses: they are looked up once, and one forbidden address forbids the connection.
//   C2. A host that is an address is not looked up, so it is checked before.

import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'

import { type Agent, buildConnector } from 'undici'

import { createLiveAgent, PROBE_AFTER_MS } from '../../../kube/live-agent.ts'
import type { ClusterAccess } from './kubeconfig.ts'

/** A forbidden connection, with the reason. */
export class RefusedAddress extends Error {
  readonly code = 'REFUSED_ADDRESS'

  constructor(refusal: string) {
    super(refusal)
    this.name = 'RefusedAddress'
  }
}

/** The reason why no connection may use the address; undefined if it is allowed. */
export type AddressCheck = (address: string) => string | undefined

/** A connection pool with the certificates of the access. Connections fail with RefusedAddress if the check returns a reason. */
export function createGuardedAgent(
  access: ClusterAccess,
  check: AddressCheck,
  lookup: LookupFunction = systemLookup,
): Agent {
  const connect = buildConnector({
    ...tlsOf(access),
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    lookup: checkedLookup(lookup, check),
  })
  return createLiveAgent((options, callback) => {
    const refusal = isIP(options.hostname) === 0 ? undefined : check(options.hostname)
    if (refusal === undefined) connect(options, callback)
    // The pool does not support a callback before the call has returned.
    else process.nextTick(callback, new RefusedAddress(refusal), null)
  })
}

function checkedLookup(lookup: LookupFunction, check: AddressCheck): LookupFunction {
  return (host, options, answer) => {
    lookup(host, options, (error, result, family) => {
      // With an error, the other arguments are undefined.
      const refusal =
        error === null
          ? addressesOf(result)
              .map(check)
              .find((one) => one !== undefined)
          : undefined
      if (refusal === undefined) answer(error, result, family)
      else answer(new RefusedAddress(refusal), '')
    })
  }
}

function addressesOf(result: string | readonly LookupAddress[]): readonly string[] {
  return typeof result === 'string' ? [result] : result.map(({ address }) => address)
}

function tlsOf({ caData, tlsServerName, isInsecure, credentials: { certificate } }: ClusterAccess) {
  const decoded = (data: string) => Buffer.from(data, 'base64')
  return {
    ...(caData !== undefined && { ca: decoded(caData) }),
    ...(certificate !== undefined && { cert: decoded(certificate.data), key: decoded(certificate.key) }),
    ...(isInsecure && { rejectUnauthorized: false }),
    ...(tlsServerName !== undefined && { servername: tlsServerName }),
  }
}
