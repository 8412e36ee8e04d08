// Finds the process that leads the simulation, through the coordinators of a connection string.

import { type ConnectionString, parseConnectionString } from '../core/connection-string.ts'
import { type Connection, dial } from './json-lines.ts'

export const keyOf = ({ description, id }: ConnectionString): string => `${description}:${id}`

export interface Leader {
  readonly connection: Connection
  readonly address: string
}

/** One try. Follows the answer of coordinators that were replaced. `key`: what the coordinators know the database by. */
export async function findLeader(
  connection: ConnectionString,
  key: (connection: ConnectionString) => string,
  hops = 3,
): Promise<Leader | undefined> {
  for (const address of connection.coordinators) {
    const coordinator = await dial(address)
    const answer = await coordinator?.request('locate', { key: key(connection) }).catch(() => undefined)
    coordinator?.close()
    const found = answer && (await follow(answer, key, hops))
    if (found !== undefined) return found
  }
  return undefined
}

async function follow(
  { leader, moved }: { readonly leader?: string; readonly moved?: string },
  key: (connection: ConnectionString) => string,
  hops: number,
): Promise<Leader | undefined> {
  if (leader !== undefined) {
    const connection = await dial(leader)
    return connection && { connection, address: leader }
  }
  const next = moved === undefined ? undefined : parseConnectionString(moved)
  return next === undefined || hops === 0 ? undefined : await findLeader(next, key, hops - 1)
}
