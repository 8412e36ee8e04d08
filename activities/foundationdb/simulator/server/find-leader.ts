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
    if (coordinator === undefined) continue
    try {
      const { leader, moved } = await coordinator.request('locate', { key: key(connection) })
      if (leader !== undefined) {
        const found = await dial(leader)
        if (found !== undefined) return { connection: found, address: leader }
      }
      const next = moved === undefined ? undefined : parseConnectionString(moved)
      const found = next === undefined || hops === 0 ? undefined : await findLeader(next, key, hops - 1)
      if (found !== undefined) return found
    } catch {
      // The coordinator ended; the next one may know the leader.
    } finally {
      coordinator.close()
    }
  }
  return undefined
}
