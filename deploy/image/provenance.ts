// How an image was built: the predicate of SLSA provenance 1.0. Source: slsa.dev/spec/v1.0/provenance.
//
// It names no times of the build, because a build of the same commit must give the same bytes.

import type { BasePackage } from './base-packages.ts'
import type { Release } from './oci-layout.ts'
import type { Statement } from './signature.ts'

export interface Inputs {
  readonly variant: string
  /** SHA-256 of package-lock.json, which pins the npm packages. */
  readonly lockSha256: string
  readonly debian: readonly BasePackage[]
  /** Node packages by name@version, with their integrity. */
  readonly node: Readonly<Record<string, string>>
}

export function provenanceOf({ variant, lockSha256, debian, node }: Inputs, { revision, time }: Release): Statement {
  return {
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://pawl.dev/image/v1',
        externalParameters: { variant, sourceDateEpoch: time },
        resolvedDependencies: [
          { uri: 'git:pawl', digest: { gitCommit: revision } },
          { uri: 'file:package-lock.json', digest: { sha256: lockSha256 } },
          ...Object.entries(node).map(([name, integrity]) => ({
            uri: `pkg:npm/${name}`,
            digest: { sha512: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') },
          })),
          ...debian.map(({ url, sha256 }) => ({ uri: url, digest: { sha256 } })),
        ],
      },
      runDetails: { builder: { id: 'https://pawl.dev/image/local' } },
    },
  }
}
