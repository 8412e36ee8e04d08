// Root Installations that export data to each other, for tests of their order.

import { exportingData } from './sub-installations.ts'
import { type Item, installation } from '../cluster/cluster.ts'

interface Flow {
  /** Names of the imported DataObjects. */
  readonly takes?: readonly string[]
  /** Name of the exported DataObject. Undefined: no export. Its value is the name of the root and its imports. */
  readonly gives?: string
  readonly items?: readonly Item[]
  readonly triggered?: boolean
  readonly annotations?: Record<string, string>
  /** `spec.optimization` */
  readonly optimization?: object
}

/** A root Installation that imports and exports data. */
export function root(name: string, { takes = [], gives, items = [], optimization, ...more }: Flow) {
  const value = `'${name}${takes.map((one) => ` {{ index .imports "${one}" }}`).join('')}'`
  const exports = gives === undefined ? {} : { exports: { data: [{ name: 'value', dataRef: gives }] } }
  return installation(name, items, {
    ...more,
    spec: {
      imports: { data: takes.map((one) => ({ name: one, dataRef: one })) },
      ...exports,
      ...(optimization !== undefined && { optimization }),
    },
    blueprint: {
      imports: takes.map((one) => ({ name: one, type: 'data', schema: {} })),
      ...(gives !== undefined && exportingData('value', value)),
    },
  })
}
