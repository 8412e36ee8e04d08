// The official release of FoundationDB for this machine. Source: github.com/apple/foundationdb/releases.

import type { Release } from '../../pods.ts'
import { DEFAULT_VERSION } from '../simulator/version.ts'

const RELEASES = 'https://github.com/apple/foundationdb/releases/download'
const PROGRAMS = ['fdbserver', 'fdbcli', 'fdbmonitor', 'fdbbackup']

/** Each program of a release has a file with its SHA-256 digest. @param base the URL of all releases; for tests. */
export function releaseOf(version: string = DEFAULT_VERSION, base: string = RELEASES): Release {
  return {
    name: 'foundationdb',
    version,
    platforms: ['linux-amd64'],
    programs: Object.fromEntries(PROGRAMS.map((name) => [name, `${base}/${version}/${name}.x86_64`])),
    // One program, which reads its own name. Packages of FoundationDB have the same links.
    links: { fdbrestore: 'fdbbackup', backup_agent: 'fdbbackup' },
  }
}
