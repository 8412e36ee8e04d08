// Connections to servers that users name. Each address is judged where the socket is made, so nothing can be looked up anew in between (DNS rebinding).
//
//   C1. The addresses that the socket may use are those that were judged: they are looked up once, and all are let through or none.
//   C2. A host that is an address is not looked up, so it is judged before.

import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'

import { type Agent, buildConnector } from 'undici'

import { createLiveAgent, PROBE_AFTER_MS } from '../../../kube/live-agent.ts'
import type { ClusterAccess } from './kubeconfig.ts'

/** A connection that is not made, and why. */
export class RefusedAddress extends Error {
  readonly code = 'REFUSED_ADDRESS'

  constructor(refusal: string) {
    super(refusal)
    this.name = 'RefusedAddress'
  }
}

/** Why nobody may connect to the address; undefined when they may. */
export type AddressCheck = (address: string) => string | undefined

/** A pool of connections with the certificates of the access. They fail with RefusedAddress where the check says so. */
export function createGuardedAgent(
  access: ClusterAccess,
  check: AddressCheck,
  lookup: LookupFunction = systemLookup,
): Agent {
  const connect = buildConnector({
    ...tlsOf(access),
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    lookup: guarded(lookup, check),
  })
  return createLiveAgent((options, callback) => {
    const refusal = isIP(options.hostname) === 0 ? undefined : check(options.hostname)
    if (refusal === undefined) connect(options, callback)
    // The pool expects no answer before the call has returned.
    else process.nextTick(callback, new RefusedAddress(refusal), null)
  })
}

function guarded(lookup: LookupFunction, check: AddressCheck): LookupFunction {
  return (host, options, answer) => {
    lookup(host, options, (error, found, family) => {
      // Of an error nothing else is there.
      const addresses = error !== null ? [] : typeof found === 'string' ? [found] : found.map(({ address }) => address)
      const refusal = addresses.map(check).find((one) => one !== undefined)
      if (refusal === undefined) answer(error, found, family)
      else answer(new RefusedAddress(refusal), '')
    })
  }
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
