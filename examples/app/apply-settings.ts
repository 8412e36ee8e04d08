// Keeps the settings in a ConfigMap of the App's name.

import { done, type Outcome } from 'pawl/kit'
import type { ConfigMap } from 'pawl/kit/v1'

import type { AppPass } from './app.gen.ts'

export async function applySettings({ target, act }: AppPass, found: ConfigMap | undefined): Promise<Outcome> {
  const { settings = {} } = target.spec
  // What is not mentioned stays: a setting that was taken out has to be named.
  const gone = Object.keys(found?.data ?? {}).filter((name) => !Object.hasOwn(settings, name))
  const removed = Object.fromEntries(gone.map((name) => [name, null]))
  const { name } = target.metadata
  await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { ...removed, ...settings } })
  return done
}
