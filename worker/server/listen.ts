// Starts a server on the address of two flags.

import type { Server } from 'node:net'

import { UsageError } from './usage-error.ts'

export interface ListenAddress {
  readonly host: string
  readonly port: number
  /** The flags with the host and the port, such as `--health-host`, for messages. */
  readonly flags: readonly [host: string, port: string]
}

const NO_ADDRESS = ({ host, flags: [flag] }: ListenAddress) =>
  `${flag}: found ${host}; expected an address of this machine`
const PROBLEMS: Readonly<Record<string, (address: ListenAddress) => string>> = {
  EADDRINUSE: ({ host, port, flags: [, flag] }) => `${flag}: port ${port} of ${host} is in use; choose another port`,
  EACCES: ({ port, flags: [, flag] }) =>
    `${flag}: found ${port}, which this user may not use; choose a port above 1023`,
  EADDRNOTAVAIL: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
}

/** Resolves when the server accepts connections. @throws UsageError if the address cannot be used. */
export async function listen(server: Server, address: ListenAddress): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const problem = PROBLEMS[error.code ?? '']
      reject(problem === undefined ? error : new UsageError(problem(address)))
    })
    server.listen(address.port, address.host, resolve)
  })
}
