// Reaches a simulated database over TCP.

import type { TlsOptions } from '../cli/arguments.ts'
import type { Gateway, Session } from '../cli/gateway.ts'
import type { ConnectionString } from '../core/connection-string.ts'
import { protocolOf } from '../version.ts'
import { findLeader, keyOf } from './find-leader.ts'
import { dial } from './json-lines.ts'

export interface GatewayOptions {
  readonly tls: TlsOptions
  readonly logGroup: string
  /** The client's version: other protocols do not answer it. */
  readonly version: string
  readonly exists: (path: string) => boolean
}

/** A client without certificate, key and CA files cannot reach addresses with `:tls`. Source: fdb-recordings 33. */
export function tcpGateway({ tls, logGroup, version, exists }: GatewayOptions): Gateway {
  const files = [tls.certificate, tls.key, tls.ca]
  const hasTls = files.every((path) => path !== undefined && exists(path))
  const isAllowed = (address: string) => hasTls || !address.endsWith(':tls')
  return {
    isReachable: async (address) => {
      if (!isAllowed(address)) return false
      const connection = await dial(address)
      connection?.close()
      return connection !== undefined
    },
    open: async (wanted) => {
      if (!wanted.coordinators.every(isAllowed)) return undefined
      return await openSession(wanted, version, logGroup)
    },
  }
}

async function openSession(wanted: ConnectionString, version: string, logGroup: string): Promise<Session | undefined> {
  const leader = await findLeader(wanted, {
    key: (connection) => `${protocolOf(version)}/${keyOf(connection)}`,
  })
  if (leader === undefined) return undefined
  try {
    const { connection } = await leader.connection.request('client', { logGroup })
    return {
      connection,
      request: async (operation, params) => await leader.connection.request(operation, params),
      close: () => {
        leader.connection.close()
      },
    }
  } catch {
    leader.connection.close()
    return undefined
  }
}
