// Search runs in a Worker. Browsers refuse one to a page that was opened as a file; there, a hidden frame does its work.
// A script of this name keeps Zensical from fetching one from elsewhere.
if (location.protocol === "file:") {
  window.Worker = class {
    onmessage = null
    onmessageerror = null
    onerror = null
    #frame = document.createElement("iframe")
    #inside = null
    #waiting = []

    constructor(url) {
      this.#frame.hidden = true
      this.#frame.addEventListener("load", () => this.#begin(new URL(url, document.baseURI)), { once: true })
      document.body.append(this.#frame)
    }

    // What the script says by self.postMessage comes out here, and what it is told it finds in self.onmessage.
    #begin(url) {
      const inside = this.#frame.contentWindow
      inside.postMessage = data => {
        const copy = structuredClone(data)
        setTimeout(() => this.onmessage?.({ data: copy }))
      }
      const script = inside.document.createElement("script")
      script.onerror = () => this.onerror?.(new ErrorEvent("error", { message: `${url} cannot be read` }))
      script.onload = () => {
        this.#inside = inside
        for (const data of this.#waiting.splice(0)) this.postMessage(data)
      }
      script.src = url
      inside.document.body.append(script)
    }

    postMessage(data) {
      if (this.#inside === null) {
        this.#waiting.push(data)
        return
      }
      const copy = this.#inside.structuredClone(data)
      setTimeout(() => this.#inside.onmessage?.({ data: copy }))
    }

    terminate() {
      this.#frame.remove()
    }
  }
}
