// OCI registries as one Installation sees them: with the credentials of its Context, for as long as its activity is waited for.

import { createAddressRule } from '../deploy/target/address-rule.ts'
import { MOST_BYTES } from '../render/blueprint-files.ts'
import type { Tenant } from '../bounded/thread-pool.ts'
import { isDigest, type OciRepository } from './oci-names.ts'
import { RegistryClient, titleOf, type RegistryObject } from './registry-client.ts'
import { RegistryConnections } from './registry-connections.ts'
import { credentialFor, keyOfCredential, type CredentialEntry } from './registry-credentials.ts'
import { READ_LIMITS, RegistryReads, type ReadLimits } from './registry-reads.ts'

export interface RegistryReader {
  /** @throws as RegistryClient and RegistryReads. */
  manifest(repository: OciRepository, reference: string): Promise<Buffer>
  /** A blob by its digest. @param most bytes. */
  blob(repository: OciRepository, digest: string, most?: number): Promise<Buffer>
}

export interface Registries {
  /** @param lists the first that has a credential for a repository decides. */
  of(tenant: Tenant, lists: readonly (readonly CredentialEntry[])[]): RegistryReader
  close(): Promise<void>
}

export interface RegistryOptions {
  /** As `--target-allow` has it. */
  readonly allow: readonly string[]
  readonly now: () => Date
  readonly limits?: ReadLimits
}

/** Source: OCI distribution spec 1.1: registries take manifests of 4 MiB at least. */
const MOST_MANIFEST_BYTES = 4 * 1024 * 1024
// What has a digest stays what it is; a right to read it may end.
const KEEP_MS = 10 * 60_000
const KEEP_TAG_MS = 30_000

export function createRegistries({ allow, now, limits = READ_LIMITS }: RegistryOptions): Registries {
  const connections = new RegistryConnections(createAddressRule(allow))
  const client = new RegistryClient(connections, now)
  const reads = new RegistryReads(now, limits)
  return {
    of({ namespace, signal }, lists) {
      const read = (asked: Omit<RegistryObject, 'credential'>) => {
        const { repository, kind, reference } = asked
        const credential = lists.map((entries) => credentialFor(entries, repository)).find((one) => one !== undefined)
        return reads.of({
          key: JSON.stringify([repository.origin, repository.path, kind, reference, keyOfCredential(credential)]),
          title: titleOf({ repository, reference }),
          keepMs: isDigest(reference) ? KEEP_MS : KEEP_TAG_MS,
          read: (ends) => client.read({ ...asked, credential }, ends),
          namespace,
          signal,
        })
      }
      return {
        manifest: (repository, reference) =>
          read({ repository, kind: 'manifests', reference, most: MOST_MANIFEST_BYTES }),
        blob: (repository, reference, most = MOST_BYTES) => read({ repository, kind: 'blobs', reference, most }),
      }
    },
    async close() {
      reads.close()
      await connections.close()
    },
  }
}
