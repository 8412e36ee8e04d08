// Keeps the settings in a ConfigMap with the App's name.

import { done, type Outcome } from 'pawl/kit'
import type { ConfigMap } from 'pawl/kit/v1'

import type { AppPass } from './app.gen.ts'

export async function applySettings({ target, act }: AppPass, found: ConfigMap | undefined): Promise<Outcome> {
  const { settings = {} } = target.spec
  // `act.apply` does not change keys that it does not mention, so a removed setting is set to null.
  const obsolete = Object.keys(found?.data ?? {}).filter((name) => !Object.hasOwn(settings, name))
  const removed = Object.fromEntries(obsolete.map((name) => [name, null]))
  const { name } = target.metadata
  await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { ...removed, ...settings } })
  return done
}
