// The programs and volumes of a trial release, on a machine that has neither its images nor a provisioner.

import { constants } from 'node:fs'
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { KubeClient } from '../../../activities/kube/client.ts'
import { isNotFound } from '../../../activities/kube/errors.ts'
import { postgresPrograms } from '../../../worker/dev/postgres.ts'

const STORAGE_CLASS = 'chart-trial'
const TEMPORAL_POD = new URL('../image/temporal-pod.js', import.meta.url).pathname
const VOLUMES = '/api/v1/persistentvolumes'

/** Values of the release, in addition to those of the page. */
export const TRIAL_VALUES = { storageClass: STORAGE_CLASS }

/** Writes the folder that test/support/image/trial-images.js describes. */
export async function placePrograms(folder: string, temporalBinary: string): Promise<void> {
  await mkdir(folder)
  await symlink(await postgresPrograms(), join(folder, 'postgres'))
  // Copies, because the user of the pods cannot read all folders of this machine.
  const copies = { node: process.execPath, temporal: temporalBinary, 'temporal-pod.js': TEMPORAL_POD }
  for (const [name, path] of Object.entries(copies))
    await copyFile(path, join(folder, name), constants.COPYFILE_FICLONE)
  await writeFile(join(folder, 'passwd'), 'pawl:x:65532:65532::/tmp:/bin/sh\n')
}

/**
 * Volumes of an administrator, one for each server. The test's node agent provides none: agents of other tests provide
 * volumes for all claims of this cluster that have the default StorageClass, in folders that they delete.
 *
 * @returns a function that deletes them.
 */
export async function createVolumes(kube: Pick<KubeClient, 'request'>, folder: string): Promise<() => Promise<void>> {
  const names = ['one', 'two'].map((name) => `${STORAGE_CLASS}-${name}`)
  for (const name of names)
    await kube.request('POST', VOLUMES, {
      body: {
        metadata: { name, annotations: { 'pv.kubernetes.io/provisioned-by': 'pawl.dev/folder' } },
        spec: {
          storageClassName: STORAGE_CLASS,
          capacity: { storage: '2Gi' },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          hostPath: { path: join(folder, name) },
        },
      },
    })
  return async () => {
    for (const name of names)
      await kube.request('DELETE', `${VOLUMES}/${name}`).catch((error: unknown) => {
        // A node agent of another test deletes volumes after their use.
        if (!isNotFound(error)) throw error
      })
  }
}
