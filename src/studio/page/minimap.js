// The whole program, small, with a frame around what the window shows.
"use strict";

/** Draws `scene` on `canvas`; a click there moves the camera of `view`, and calls `moved`. */
Studio.minimap = (canvas, view, scene, moved) => {
  let map = null, // where the program is on the canvas
    picture = null; // the boxes, drawn once

  function move(event) {
    if (!map || !scene.placed) return;
    const rect = canvas.getBoundingClientRect();
    const x = (event.clientX - rect.left - map.x) / map.scale,
      y = (event.clientY - rect.top - map.y) / map.scale;
    scene.camera.x = view.clientWidth / 2 - x * scene.camera.scale;
    scene.camera.y = view.clientHeight / 2 - y * scene.camera.scale;
    moved();
  }
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    move(event);
  });
  canvas.addEventListener("pointermove", (event) => event.buttons && move(event));

  function paint() {
    const context = canvas.getContext("2d");
    if (!picture) {
      picture = document.createElement("canvas");
      picture.width = canvas.width;
      picture.height = canvas.height;
      map = Studio.draw.paintMap(picture, scene);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0);
    if (!map) return;
    const ratio = window.devicePixelRatio || 1;
    const { camera } = scene;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.strokeStyle = Studio.palette().pick;
    context.lineWidth = 1.5;
    context.strokeRect(map.x - (camera.x / camera.scale) * map.scale, map.y - (camera.y / camera.scale) * map
      .scale,
      (view.clientWidth / camera.scale) * map.scale, (view.clientHeight / camera.scale) * map.scale);
  }

  return { paint, forget: () => (picture = null) };
};
