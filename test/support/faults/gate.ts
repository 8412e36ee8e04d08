// A promise that a test resolves.

export class Gate {
  readonly opened: Promise<void>
  #open: () => void = () => undefined

  constructor() {
    this.opened = new Promise((resolve) => (this.#open = resolve))
  }

  open(): void {
    this.#open()
  }
}
