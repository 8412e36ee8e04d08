// The images of the chart's trial, which a test without a registry in the internet cannot pull: the servers that tests
// embed run with the arguments, variables, mounts and user of the pods. The programs are those of this machine, so these
// pods do not test the images' own files.

import { join } from 'node:path'

/** The machine's root folder in a container, whose /tmp is a volume. */
const HOST = '/.host'

// As the entry point of the image: https://github.com/docker-library/postgres. A machine's user 65532 needs a name.
const POSTGRES = `
set -e
export PATH="$1:$PATH"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --locale=C --encoding=UTF8 --no-sync
  rm /tmp/password
  echo "create database $POSTGRES_USER" | postgres --single -D "$PGDATA" postgres
fi
exec postgres -c listen_addresses="$2" -c unix_socket_directories=/var/run/postgresql
`

/**
 * The process of a container with one of these images; undefined: another image.
 *
 * @param folder with `postgres`, a link to the folder of PostgreSQL's programs, `node`, `temporal`, `temporal-pod.js` and
 *   `passwd`.
 */
export function trialProcess({ image, podIP, args }, folder) {
  const at = (name) => join(HOST, folder, name)
  const files = { '/etc/passwd': at('passwd') }
  if (image.includes('/postgres:'))
    return { argv: ['sh', '-c', POSTGRES, 'postgres', at('postgres'), podIP], image: files }
  if (image.includes('/temporal:'))
    return { argv: [at('node'), at('temporal-pod.js'), podIP, at('temporal'), ...args], image: files }
  return undefined
}
