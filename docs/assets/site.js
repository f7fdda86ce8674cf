// What scrolls sideways can be reached and scrolled by the keyboard: code and tables that are wider than the screen.
const reachable = () => {
  for (const one of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0
    else one.removeAttribute("tabindex")
  }
}
new ResizeObserver(reachable).observe(document.documentElement)
addEventListener("load", reachable)
document.addEventListener("toggle", reachable, true)
