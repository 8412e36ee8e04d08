// OCI registries for one Installation: with the credentials of its Context and the signal of its activity.

import { createAddressRule } from '../deploy/target/address-rule.ts'
import { MAX_BYTES } from '../render/blueprint/blueprint-files.ts'
import type { Tenant } from '../bounded/thread-pool.ts'
import { isDigest, type OciRepository } from './oci-names.ts'
import { RegistryClient, titleOf, type RegistryObject } from './registry-client.ts'
import { RegistryConnections } from './registry-connections.ts'
import { credentialFor, keyOfCredential, type CredentialEntry } from './registry-credentials.ts'
import { READ_LIMITS, RegistryCache, type ReadLimits } from './registry-cache.ts'

export interface RegistryReader {
  /** @throws as RegistryClient and RegistryReads. */
  manifest(repository: OciRepository, reference: string): Promise<Buffer>
  /** Reads a blob by its digest. @param most limit in bytes. */
  blob(repository: OciRepository, digest: string, most?: number): Promise<Buffer>
}

export interface Registries {
  /** @param lists in order of precedence: the first list with a credential for a repository is used. */
  of(tenant: Tenant, lists: readonly (readonly CredentialEntry[])[]): RegistryReader
  close(): Promise<void>
}

export interface RegistryOptions {
  /** The destinations of `--target-allow`. */
  readonly allow: readonly string[]
  readonly now: () => Date
  readonly limits?: ReadLimits
}

/** Source: OCI distribution spec 1.1: registries accept manifests of at least 4 MiB. */
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024
// Content with a digest never changes, but the right to read it may end.
const DIGEST_TTL_MS = 10 * 60_000
const TAG_TTL_MS = 30_000

export function createRegistries({ allow, now, limits = READ_LIMITS }: RegistryOptions): Registries {
  const connections = new RegistryConnections(createAddressRule(allow))
  const client = new RegistryClient(connections, now)
  const reads = new RegistryCache(now, limits)
  return {
    of({ namespace, signal }, lists) {
      const read = (asked: Omit<RegistryObject, 'credential'>) => {
        const { repository, kind, reference } = asked
        const credential = lists.map((entries) => credentialFor(entries, repository)).find((one) => one !== undefined)
        return reads.of({
          key: JSON.stringify([repository.origin, repository.path, kind, reference, keyOfCredential(credential)]),
          title: titleOf({ repository, reference }),
          ttlMs: isDigest(reference) ? DIGEST_TTL_MS : TAG_TTL_MS,
          read: (ends) => client.read({ ...asked, credential }, ends),
          namespace,
          signal,
        })
      }
      return {
        manifest: (repository, reference) =>
          read({ repository, kind: 'manifests', reference, most: MAX_MANIFEST_BYTES }),
        blob: (repository, reference, most = MAX_BYTES) => read({ repository, kind: 'blobs', reference, most }),
      }
    },
    async close() {
      reads.close()
      await connections.close()
    },
  }
}
